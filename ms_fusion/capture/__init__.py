"""Looking at a net: compile and run it without and with fusion in a private place, join what MindSpore says, fill the ledger."""
