"""A collector's directory: its settings, keys, tokens and store, and what is published in it.

Settings and tokens need neither aiohttp nor numpy, which the command line would wait for.
"""

from deniable.directory.authority_keys import authority_chain as authority_chain
from deniable.directory.authority_keys import check_outside as check_outside
from deniable.directory.authority_keys import default_key_file as default_key_file
from deniable.directory.authority_keys import find_key_file as find_key_file
from deniable.directory.authority_keys import hand_over as hand_over
from deniable.directory.authority_keys import key_files as key_files
from deniable.directory.authority_keys import read_authority_key as read_authority_key
from deniable.directory.authority_keys import read_newest_key as read_newest_key
from deniable.directory.authority_keys import rotations_of as rotations_of
from deniable.directory.collector_directory import EXAMPLE_FILE as EXAMPLE_FILE
from deniable.directory.collector_directory import check_store as check_store
from deniable.directory.collector_directory import create_collector as create_collector
from deniable.directory.collector_directory import signed_surveys as signed_surveys
from deniable.directory.collector_directory import store_text as store_text
from deniable.directory.collector_directory import with_store as with_store
from deniable.directory.epoch_figures import older_epochs as older_epochs
from deniable.directory.epoch_figures import shown_counts as shown_counts
from deniable.directory.epoch_figures import shown_epochs as shown_epochs
from deniable.directory.epoch_figures import shown_seal as shown_seal
from deniable.directory.gateway_file import GatewayFile as GatewayFile
from deniable.directory.gateway_file import first_gateway as first_gateway
from deniable.directory.gateway_file import read_gateway_file as read_gateway_file
from deniable.directory.gateway_file import rotated_gateway as rotated_gateway
from deniable.directory.gateway_file import sign_gateway_anew as sign_gateway_anew
from deniable.directory.gateway_file import write_gateway_file as write_gateway_file
from deniable.directory.log_publishing import all_signed as all_signed
from deniable.directory.log_publishing import begin_publishing as begin_publishing
from deniable.directory.log_publishing import log_policy as log_policy
from deniable.directory.log_publishing import offer_logged as offer_logged
from deniable.directory.log_publishing import witnesses_of as witnesses_of
from deniable.directory.settings import CONFIG_FILE as CONFIG_FILE
from deniable.directory.settings import SETTINGS as SETTINGS
from deniable.directory.settings import Config as Config
from deniable.directory.settings import InvalidConfig as InvalidConfig
from deniable.directory.settings import Network as Network
from deniable.directory.settings import Setting as Setting
from deniable.directory.store_source import StoreSource as StoreSource
from deniable.directory.tokens import new_token as new_token
from deniable.directory.tokens import token_digest as token_digest
