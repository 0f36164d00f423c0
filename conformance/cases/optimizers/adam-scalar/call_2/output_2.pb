Bnew_v0J
—¿