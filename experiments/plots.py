"""SVG by gnuplot."""
import subprocess

HEAD = """set terminal svg size {width},{height} font 'sans,11' background 'white'
set key outside right
set grid
set multiplot layout 1,{panels}
"""


def quoted(text):
    return "'" + str(text).replace("'", "''") + "'"


def block(name, points):
    lines = [" ".join("NaN" if v is None else f"{v:.10g}" for v in point) for point in points]
    return f"${name} << EOD\n" + "\n".join(lines) + "\nEOD\n"


def draw(path, panels):
    """A panel: title, x and y (names of axes), set (lines of gnuplot), ticks (of x, by place) and
    lines: name to points (x, y) or (x, y, half of the interval)."""
    program = HEAD.format(width=560 * len(panels), height=380, panels=len(panels))
    for p, panel in enumerate(panels):
        ticks = ", ".join(f"{quoted(t)} {k}" for k, t in enumerate(panel.get("ticks", [])))
        program += "".join(block(f"d{p}_{k}", points)
                           for k, points in enumerate(panel["lines"].values()))
        program += "unset logscale\n" + "".join(line + "\n" for line in panel.get("set", []))
        program += f"set xtics ({ticks})\n" if ticks else "set xtics auto\n"
        program += f"set title {quoted(panel['title'])} noenhanced\n"
        program += f"set xlabel {quoted(panel['x'])}\nset ylabel {quoted(panel['y'])}\n"
        drawn = []
        for k, (name, points) in enumerate(panel["lines"].items()):
            style = panel.get("style", "linespoints")
            drawn.append(f"$d{p}_{k} using 1:2 with {style} lc {k + 1} title {quoted(name)} noenhanced")
            if points and len(points[0]) > 2:
                drawn.append(f"$d{p}_{k} using 1:2:3 with yerrorbars lc {k + 1} pt 0 notitle")
        program += "plot " + ", ".join(drawn) + "\n"
    svg = subprocess.run(["gnuplot"], input=program + "unset multiplot\n", capture_output=True,
                         text=True, check=True).stdout
    with open(path, "w", encoding="utf-8") as file:
        file.write(svg)
