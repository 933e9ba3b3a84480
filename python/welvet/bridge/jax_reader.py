def is_model(model):
    return False
