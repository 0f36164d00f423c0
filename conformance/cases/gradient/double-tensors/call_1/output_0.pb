ByJ®2Cç³y
@