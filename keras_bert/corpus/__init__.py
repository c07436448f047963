"""From text files to training examples: documents, token store, examples as a pure function of the step."""
