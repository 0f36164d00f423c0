
ByJ0J