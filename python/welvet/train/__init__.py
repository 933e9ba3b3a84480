"""Training of networks: whole runs by a config, steps of the caller's own, learning by targets.

train() runs a whole training and returns a Run; replay() proves the journal of one. Trainer learns from batches of the
caller and returns a Step for each. Tween learns by targets instead of gradients. The module itself may be called:
welvet.train(...) is welvet.train.train(...).
"""

from .._modules import make_callable
from .runs import Run, replay, train
from .trainer import Step, Trainer
from .tween import Tween

make_callable(__name__, train)

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:

    class Module:
        """The type of this module."""

        from .runs import Run as Run
        from .trainer import Step as Step
        from .trainer import Trainer as Trainer
        from .tween import Tween as Tween

        __call__ = staticmethod(train)
        replay = staticmethod(replay)
        train = staticmethod(train)


__all__ = ["Run", "Step", "Trainer", "Tween", "replay", "train"]
