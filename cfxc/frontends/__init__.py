"""Front ends: everything that becomes an IR program or a query."""
