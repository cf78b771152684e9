"""The shelf: real graphs by which link prediction is judged, their figures, and the methods compared."""
