BlossJ‚
¬¿