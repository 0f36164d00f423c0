BscoreJ۳
?