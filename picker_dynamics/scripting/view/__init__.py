"""View of an arm in the browser: one page, served on this machine, that shows what is known of the arm and asks for motions.

    access.py      who may ask: token, Host, Origin, sizes, rates
    server.py      HTTP: files, a stream down, requests up
    requests.py    what the page asks, parsed and bounded
    channel.py     the newest of what it is told, for any number of readers
    base.py        what every view tells; picture.py: the arm as the page draws it: links, shapes, limits
    arm_view.py    the arm of a session: which page drives, motions, settings
    tours.py       motions of several legs, made one by one
    live.py        the page of a script's arm; recording.py: a file

The page itself is JavaScript, in web/, bundled by ``make setup`` into page/ beside this file.
"""
