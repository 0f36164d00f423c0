Bnew_x1J
•B¿ò}x<^A«>„wv?Þƒ\¿ág?