Bnew_x0JE"ζΰΪΏx¥T‚΅Ελ?VΒW
±™ΰ?