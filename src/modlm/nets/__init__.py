"""Nets that compute lambda(c): inputs, bodies, the mixture loss and block dropout. Everything here needs torch."""
