module ondine

go 1.21
