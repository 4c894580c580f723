"""nginx with nchan, the best of the servers in C: Debian's nginx and libnginx-mod-nchan.

Plain only: what nchan sends in chunks does not go through nginx's gzip filter.
"""

from __future__ import annotations

import resource
import time
from pathlib import Path

from bench.fanout.processes import BUILD, family, free_port, started

from .peer import Address, Peer, program

_MODULE = Path("/usr/lib/nginx/modules/ngx_nchan_module.so")

_CONFIG = """load_module {module};
daemon off;
worker_processes {processes};
worker_rlimit_nofile {files};
pid nginx.pid;
error_log stderr error;
events {{ worker_connections {connections}; }}
http {{
    access_log off;
    tcp_nodelay on;
    keepalive_requests 1000000;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    client_body_buffer_size 64k;
    nchan_shared_memory_size 128M;
    server {{
        listen 127.0.0.1:{port} backlog=4096{shared};
        location = /stream {{
            nchan_subscriber http-chunked;
            nchan_channel_id events;
            nchan_subscriber_first_message newest;
            nchan_subscriber_timeout 0;
        }}
        location = /publish {{
            nchan_publisher http;
            nchan_channel_id events;
            nchan_message_buffer_length 2048;
            nchan_message_timeout 10m;
        }}
    }}
}}
"""


class Nginx(Peer):
    """One channel, whose messages are chunks of HTTP responses that don't end."""

    name = "nchan"
    several = True

    @staticmethod
    def missing() -> str:
        if program("nginx") is None:
            return "nginx is not installed"
        return "" if _MODULE.is_file() else "nginx has no nchan (libnginx-mod-nchan)"

    def start(self) -> Address:
        port, files = free_port(), resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        config = self._configured(
            _CONFIG.format(
                module=_MODULE,
                processes=self.processes,
                files=files,
                connections=files - 100,
                port=port,
                shared=" reuseport" if self.processes > 1 else "",
            )
        )
        folder = str(Path(config).parent)
        command = [program("nginx") or "nginx", "-p", folder, "-c", config, "-e", "stderr"]
        self._process = started(command, port, log=BUILD / "nginx.log")
        until = time.monotonic() + 5  # the master listens before it has made its workers
        while len(pids := family(self._process.pid)) <= self.processes and time.monotonic() < until:
            time.sleep(0.02)
        return Address(
            pids=pids,
            port=port,
            protocol="http",
            sink="http",
            path="/stream",
            publish_path="/publish",
        )
