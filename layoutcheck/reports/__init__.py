"""Reports: a `Report` rendered for people and machines."""
