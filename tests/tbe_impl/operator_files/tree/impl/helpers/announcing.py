"""A registration without manners: the function that it hands back says nothing of the one inside."""


def announce(description):
    """A decorator that keeps the function to itself."""

    def decorate(function):
        def announced(*args, **keywords):
            return function(*args, **keywords)

        announced.description = description
        return announced

    return decorate
