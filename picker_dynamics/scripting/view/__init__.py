"""View of an arm in the browser: one page, served on this machine, that shows what is known of the arm and asks for motions.

    access.py      who may ask: token, Host, Origin, sizes, rates
    asked.py       what the page asks, parsed and bounded
    wheel.py       which page drives; the others watch
    standing.py    what was asked before a cancel or a release is not carried out after it
    picture.py     the arm as the page draws it: links, shapes, limits
    told.py        what the page is told, at its rates
    channel.py     the newest of it for any number of readers
    server.py      HTTP: files, a stream down, requests up
    motions.py     what is asked as a motion, checked before it is sent; tours.py: those of several legs, made one by one
    base.py        what every view has in common: who drives, what is told
    graph.py       the running graph as what is shown and driven; in_process.py: an arm of a script; recording.py: a file
    record.py      ``picker record``, begun and ended from the page

The page itself is JavaScript, in web/, bundled by ``make setup`` into page/ beside this file.
"""
