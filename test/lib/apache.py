# SPDX-License-Identifier: MIT
"""Apache with its worker MPM: a thread per connection in a few processes."""

import os

CONFIGURATION = """\
ServerRoot /usr/lib/apache2
LoadModule mpm_worker_module modules/mod_mpm_worker.so
LoadModule authz_core_module modules/mod_authz_core.so
ServerName localhost
Listen 127.0.0.1:{port}
ListenBacklog 1100
PidFile {folder}/pid
ErrorLog {log}
DocumentRoot {files}
ServerLimit {processes}
StartServers {processes}
ThreadLimit {threads}
ThreadsPerChild {threads}
MaxRequestWorkers {workers}
MaxSpareThreads {workers}
KeepAliveTimeout 60
MaxKeepAliveRequests 0
{user}
<Directory {files}>
  Require all granted
  AllowOverride None
</Directory>
"""


def configuration(folder, files, log, port, processes, threads):
    """Returns the configuration: `processes` processes with `threads` threads
    each. Apache writes its pid to a file in the folder."""
    return CONFIGURATION.format(
        folder=folder, files=files, log=log, port=port, processes=processes,
        threads=threads, workers=processes * threads,
        user="User www-data\nGroup www-data" if os.getuid() == 0 else "")
