BlossJ
6Î@