Bnew_x0J¯l×¾‘ñ\?mó
?