-- Draws numbers.
return draw(count())
