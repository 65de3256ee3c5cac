"""The token models, built from their definitions: pretokens → ids."""
