"""Names of topics by a language model: what it is asked, how it is asked, and what it may answer.

Nothing here is used unless an address is given: `endpoint` talks to it, `prompts` says what is
sent, `answers` makes names of what comes back, and `asking` does all three.
"""

from isotherm.naming.asking import Answer, answers, ask
from isotherm.naming.endpoint import Endpoint
from isotherm.naming.prompts import Prompt, prompts

__all__ = ["Answer", "Endpoint", "Prompt", "answers", "ask", "prompts"]
