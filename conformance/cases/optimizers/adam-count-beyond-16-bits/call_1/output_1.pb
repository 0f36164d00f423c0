Bnew_x0J…Ú¾
ËX?Jæ?