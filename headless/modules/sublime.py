"""The module `sublime`."""

from __future__ import annotations

from headless.api import flags as _flags
from headless.api import functions as _functions
from headless.api import logging as _logging
from headless.api.command_text import (
    command_url as command_url,
)
from headless.api.command_text import (
    format_command as format_command,
)
from headless.api.command_text import (
    html_format_command as html_format_command,
)
from headless.api.functions import FileTooLargeError as FileTooLargeError
from headless.api.functions import _buffers as _buffers
from headless.api.items import (
    CompletionItem as CompletionItem,
)
from headless.api.items import (
    CompletionList as CompletionList,
)
from headless.api.items import (
    ContextStackFrame as ContextStackFrame,
)
from headless.api.items import (
    Html as Html,
)
from headless.api.items import (
    ListInputItem as ListInputItem,
)
from headless.api.items import (
    Phantom as Phantom,
)
from headless.api.items import (
    PhantomSet as PhantomSet,
)
from headless.api.items import (
    QuickPanelItem as QuickPanelItem,
)
from headless.api.items import (
    SymbolLocation as SymbolLocation,
)
from headless.api.items import (
    SymbolRegion as SymbolRegion,
)
from headless.api.items import (
    Syntax as Syntax,
)
from headless.api.region import (
    Edit as Edit,
)
from headless.api.region import (
    HistoricPosition as HistoricPosition,
)
from headless.api.region import (
    Region as Region,
)
from headless.api.region import (
    TextChange as TextChange,
)
from headless.api.selection import Selection as Selection
from headless.api.settings import Settings as Settings
from headless.api.sheet import (
    Buffer as Buffer,
)
from headless.api.sheet import (
    HtmlSheet as HtmlSheet,
)
from headless.api.sheet import (
    ImageSheet as ImageSheet,
)
from headless.api.sheet import (
    Sheet as Sheet,
)
from headless.api.sheet import (
    TextSheet as TextSheet,
)
from headless.api.types import (
    DIP as DIP,
)
from headless.api.types import (
    CommandArgs as CommandArgs,
)
from headless.api.types import (
    CompletionValue as CompletionValue,
)
from headless.api.types import (
    Kind as Kind,
)
from headless.api.types import (
    Point as Point,
)
from headless.api.types import (
    Value as Value,
)
from headless.api.types import (
    Vector as Vector,
)
from headless.api.view import View as View
from headless.api.window import Window as Window

for _module in (_flags, _functions, _logging):
    for _name, _value in vars(_module).items():
        _own = getattr(_value, "__module__", None) == _module.__name__
        _constant = _module is _flags and _name.isupper() and _name != "TYPE_CHECKING"
        if not _name.startswith("_") and (_own or _constant):
            globals()[_name] = _value
