from tests.public_log.publishing import site as site
