#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""An RTSP server on 127.0.0.1 for the tests: rtsp-server.py PORT.

/play gives a test picture of 320x180; what somebody records to /record, it gives at /record, too.
Prints "ready", and ends when its standard input does.
"""
import sys

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer

PLAY = ("( videotestsrc is-live=true pattern=ball ! video/x-raw,width=320,height=180,"
        "framerate=30/1 ! x264enc tune=zerolatency key-int-max=30 ! rtph264pay name=pay0 pt=96 )")
RECORD = "( rtph264depay name=depay0 ! fakesink sync=false async=false )"


def allow_all(factory):
    permissions = GstRtspServer.RTSPPermissions()
    permissions.add_permission_for_role("anyone", "media.factory.access", True)
    permissions.add_permission_for_role("anyone", "media.factory.construct", True)
    factory.set_permissions(permissions)


def main():
    Gst.init(None)
    server = GstRtspServer.RTSPServer(address="127.0.0.1", service=sys.argv[1])
    auth = GstRtspServer.RTSPAuth()
    token = GstRtspServer.RTSPToken()
    token.set_string("media.factory.role", "anyone")
    auth.set_default_token(token)
    server.set_auth(auth)
    for path, launch, mode in (("/play", PLAY, "PLAY"), ("/record", RECORD, "RECORD")):
        factory = GstRtspServer.RTSPMediaFactory()
        factory.set_launch(launch)
        factory.set_shared(True)
        factory.set_transport_mode(getattr(GstRtspServer.RTSPTransportMode, mode))
        allow_all(factory)
        server.get_mount_points().add_factory(path, factory)
    server.attach(None)
    loop = GLib.MainLoop()
    GLib.io_add_watch(GLib.IOChannel.unix_new(0), GLib.PRIORITY_DEFAULT, GLib.IOCondition.HUP,
                      lambda *_: loop.quit())
    print("ready", flush=True)
    loop.run()


if __name__ == "__main__":
    main()
