"""Scattering coefficients of two pictures, by the package kymatio (in double precision but for its filters, which
are in single).

    pip install kymatio 'scipy<1.15'      # kymatio 0.3.0 asks scipy for a function that later ones do not have
    python generate_scattering.py > scattering.csv

A pixel of a picture is ((3 x + y) (x + 2 y + 1) mod 23)/22. The planes are numbered as kymatio stacks them; of every
plane there are the value in a corner, one on an edge and one inside.
"""

import numpy as np
from kymatio.numpy import Scattering2D

print("# made by generate_scattering.py: kymatio 0.3.0, J = 2, L = 8, two orders")
print("height,width,plane,y,x,value")
for height, width in [(28, 28), (32, 21)]:
    y, x = np.mgrid[:height, :width]
    picture = (3 * x + y) * (x + 2 * y + 1) % 23 / 22
    planes = Scattering2D(J=2, shape=(height, width), L=8)(picture)
    for plane, values in enumerate(planes):
        for y, x in [(0, 0), (3, values.shape[1] - 1), (4, 2)]:
            print(f"{height},{width},{plane},{y},{x},{values[y, x]:.10e}")
