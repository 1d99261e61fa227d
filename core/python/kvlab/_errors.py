# SPDX-License-Identifier: Apache-2.0
"""Errors of the engine as exceptions."""


class Error(Exception):
    """A refused or failed call.

    code is a stable word for programs, as "out_of_range"; what names the work, why the cause with its figures, remedy
    the next step. action is the place in a list of actions, field the offending argument or manifest key, value its
    value; each is None where it says nothing. reports are those of the ticks of the call, the failed one last; None
    where no tick was begun.
    """

    def __init__(self, code, what, why="", remedy="", action=None, field=None, value=None, **_):
        self.code, self.what, self.why, self.remedy = code, what, why, remedy
        self.action, self.field, self.value = action, field, value
        self.reports = None
        super().__init__(": ".join(filter(None, (what, why))) + (f"; {remedy}" if remedy else ""))

    def __reduce__(self):
        return _remade, (self.__dict__,)


def _remade(parts):
    return Error(**parts)


#: KeyboardInterrupts that came while a policy was asked: the call that asked it raises them.
interrupts = []


def checked(answer):
    """The value of an answer (value, error) of the extension module."""
    value, error = answer
    if interrupts:
        interrupts.clear()
        raise KeyboardInterrupt
    if error is not None:
        raise Error(**error)
    return value
