"""`python -m triplewire.clients` is `triplewire`."""

from triplewire.clients.cli import main

main()
