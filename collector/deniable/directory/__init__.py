"""A collector's directory: its settings, keys, tokens and store, and its publications.

It exports what every command needs: settings, the authority's keys, tokens and the opened store.
Gateway keys, the public log and figures are imported from their own modules.
"""

from typing import TYPE_CHECKING

from deniable.directory.authority_keys import authority_chain as authority_chain
from deniable.directory.authority_keys import check_outside as check_outside
from deniable.directory.authority_keys import default_key_file as default_key_file
from deniable.directory.authority_keys import find_key_file as find_key_file
from deniable.directory.authority_keys import hand_over as hand_over
from deniable.directory.authority_keys import key_files as key_files
from deniable.directory.authority_keys import read_authority_key as read_authority_key
from deniable.directory.authority_keys import read_current_key as read_current_key
from deniable.directory.authority_keys import rotations_of as rotations_of
from deniable.directory.collector_directory import EXAMPLE_FILE as EXAMPLE_FILE
from deniable.directory.collector_directory import check_store as check_store
from deniable.directory.collector_directory import create_collector as create_collector
from deniable.directory.collector_directory import new_token as new_token
from deniable.directory.collector_directory import signed_surveys as signed_surveys
from deniable.directory.collector_directory import store_text as store_text
from deniable.directory.collector_directory import token_digest as token_digest
from deniable.directory.collector_directory import with_store as with_store
from deniable.directory.settings import CONFIG_FILE as CONFIG_FILE
from deniable.directory.settings import SETTINGS as SETTINGS
from deniable.directory.settings import Config as Config
from deniable.directory.settings import InvalidConfig as InvalidConfig
from deniable.directory.settings import Network as Network
from deniable.mechanisms import on_demand

if TYPE_CHECKING:
    from deniable.directory.store_source import StoreSource as StoreSource
else:  # not needed without figures
    __getattr__ = on_demand(__name__, {"StoreSource": "store_source"})
