// SimulatedReceivers
