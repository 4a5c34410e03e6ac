"""What an attack on the product found, and the tests that play each finding."""
