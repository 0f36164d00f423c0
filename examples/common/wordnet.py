"""Sets of synonyms of WordNet, from its files data.noun, data.verb, data.adj and data.adv."""


def entries(folder, kind):
    """The words and the definition of each set; examples follow a definition in quotes."""
    with open(f"{folder}/data.{kind}", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("  "):  # the license
                continue
            fields = line.split(" ")
            # An adjective may have its place in brackets, as in awake(p).
            words = [word.partition("(")[0].replace("_", " ")
                     for word in fields[4:4 + 2 * int(fields[3], 16):2]]
            definition = line.partition(" | ")[2].partition('; "')[0].strip()
            if definition and not definition.startswith('"'):
                yield words, definition
