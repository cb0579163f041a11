"""What an auditor asks of a certificate that holds: a page, a policy, the model run beside it."""
