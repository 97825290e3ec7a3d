"""A registration whose returned function does not expose the wrapped one."""


def announce(description):
    """A decorator that hides the function."""

    def decorate(function):
        def announced(*args, **keywords):
            return function(*args, **keywords)

        announced.description = description
        return announced

    return decorate
