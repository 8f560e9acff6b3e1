"""The interfaces of other programs over our models, so that code written for them runs after changing an import."""
