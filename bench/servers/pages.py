# SPDX-License-Identifier: MIT
"""A page: its thread sleeps for 10 ms, as one that asks a database does. As
plain WSGI, and by Django."""

import time

WAIT_S = 0.01
TEXT = b"x" * 1000


def plain(_environ, start_response):
    time.sleep(WAIT_S)
    start_response("200 OK", [("Content-Type", "text/plain"),
                              ("Content-Length", str(len(TEXT)))])
    return [TEXT]


def answer(_request):
    from django.http import HttpResponse

    time.sleep(WAIT_S)
    return HttpResponse(TEXT, content_type="text/plain")


def django():
    """Django's WSGI application with that page alone."""
    from django.conf import settings
    from django.core.wsgi import get_wsgi_application
    from django.urls import path

    settings.configure(ALLOWED_HOSTS=["*"], SECRET_KEY="none",
                       ROOT_URLCONF=(path("page", answer),))
    return get_wsgi_application()
