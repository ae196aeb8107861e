-- Generate the functions of all definitions anew; how many there were.
SELECT order_sweep.regenerate()
