BlossJ8
=@