"""What a person or a model does to memory as a whole: correct, undo, forget, consolidate."""
