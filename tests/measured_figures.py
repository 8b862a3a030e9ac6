"""What a figure looks like, measured with the renderer that draws it."""

from itertools import combinations

from matplotlib.backends.backend_agg import FigureCanvasAgg

SLACK = 0.5  # pixels that boxes of letters may share


def words(figure):
    """Boxes of all words in pixels: titles, labels, numbers of axes and colour bars; not those of legends."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    texts = [figure._suptitle] if figure._suptitle else []
    for axes in [part for panel in figure.axes for part in (panel, *panel.child_axes)]:  # with bars of colours
        texts += [axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label, axes.yaxis.offsetText]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for which in (False, True):
                ticks = zip(axis.get_ticklocs(minor=which), axis.get_ticklabels(minor=which), strict=False)
                texts += [label for place, label in ticks if low <= place <= high]
    visible = [text for text in texts if text.get_visible() and text.get_text()]
    return [(text.get_text(), text.get_window_extent(renderer)) for text in visible]


def at_points(image, shape):
    """Values `(y, x)` of an image of a periodic plane at its points, of which there are `shape`."""
    values = image.get_array()
    factors = [(n - 1) // count for n, count in zip(values.shape[::-1], shape, strict=True)]
    return values[:-1, :-1][:: factors[1], :: factors[0]]


def overlaps(figure):
    """Pairs of words whose boxes share more than a little."""
    return [(a, b) for (a, box), (b, other_box) in combinations(words(figure), 2) if _meet(box, other_box)]


def hidden_by_legends(figure):
    """Titles of panels of which a legend covers a part."""
    FigureCanvasAgg(figure).draw()
    panels = [axes for axes in figure.axes if axes.get_legend() is not None]
    boxes = [(axes, axes.get_legend().get_window_extent()) for axes in panels]
    return [axes.get_title(loc="left") for _, box in boxes for axes in figure.axes if _meet(box, axes.bbox)]


def outside(figure):
    """Words that the edge of the figure cuts."""
    width, height = figure.canvas.get_width_height()
    inside = lambda box: box.x0 >= -1 and box.y0 >= -1 and box.x1 <= width + 1 and box.y1 <= height + 1  # noqa: E731
    return [text for text, box in words(figure) if not inside(box)]


def _meet(box, other):
    across = min(box.x1, other.x1) - max(box.x0, other.x0)
    up = min(box.y1, other.y1) - max(box.y0, other.y0)
    return across > SLACK and up > SLACK
