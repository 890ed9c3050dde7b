# SPDX-License-Identifier: MIT
"""Downloads packages of Debian and unpacks them into a folder, without
installing them. apt gets lists and a state of its own there, so the packages
may be of another suite or for another CPU.

    packages = Packages(folder, "testing")
    packages.apt_get("update")
    unpack(packages.fetch(["gcc-14"]), folder / "tree")

The mirror is the one that apt has for Debian.
"""

import re
import shutil
import subprocess

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class Skipped(Exception):
    """The step cannot be done on this machine, which is not the code's
    fault."""


def output(command, **more):
    done = subprocess.run([str(word) for word in command], text=True,
                          capture_output=True, check=False, **more)
    if done.returncode != 0:
        raise Skipped(f"{command[0]} failed: {done.stderr.strip()[-200:]}")
    return done.stdout


def mirror():
    text = output(["apt-get", "indextargets", "--format",
                   "$(REPO_URI) $(LABEL)", "Created-By: Packages"])
    for line in text.splitlines():
        uri, _, label = line.partition(" ")
        if label == "Debian":
            return uri
    raise Skipped("apt has no mirror of Debian")


class Packages:
    """The packages of a suite. `architecture`: Debian's name of a CPU, or None
    for this machine's."""

    def __init__(self, folder, suite, architecture=None):
        self.folder, self.suite = folder, suite
        self.architecture = architecture
        for name in ("lists/partial", "archives/partial", "etc"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "status").touch()
        (folder / "etc/sources.list").write_text(
            f"deb [signed-by={KEYRING}] {mirror()} {suite} main\n")

    def options(self):
        paths = {"Dir::State::Lists": "lists", "Dir::State::Status": "status",
                 "Dir::Cache::Archives": "archives",
                 "Dir::Cache::pkgcache": "pkgcache.bin",
                 "Dir::Cache::srcpkgcache": "srcpkgcache.bin",
                 "Dir::Etc::SourceList": "etc/sources.list",
                 "Dir::Etc::SourceParts": "etc/none",
                 "Dir::Etc::Preferences": "etc/none",
                 "Dir::Etc::PreferencesParts": "etc/none"}
        found = ["-qq", "-o", "APT::Sandbox::User=root", "-o",
                 "APT::Install-Recommends=false", "-o",
                 "Acquire::Languages=none", "-o", "Debug::NoLocking=1"]
        if self.architecture:
            found += ["-o", f"APT::Architecture={self.architecture}", "-o",
                      f"APT::Architectures={self.architecture}"]
        for option, name in paths.items():
            found += ["-o", f"{option}={self.folder / name}"]
        return found

    def apt_get(self, *args, **more):
        return output(["apt-get", *self.options(), *args], **more)

    def newest(self, compiler):
        """The name of the package with the highest version: gcc-15."""
        text = output(["apt-cache", *self.options(), "pkgnames",
                       f"{compiler}-"])
        versions = re.findall(rf"^{compiler}-(\d+)$", text, re.M)
        if not versions:
            raise Skipped(f"{self.suite} has no {compiler}")
        return f"{compiler}-{max(versions, key=int)}"

    def fetch(self, names):
        """Returns the paths of these packages and of all their
        dependencies."""
        self.apt_get("--download-only", "-y", "install", *names)
        uris = self.apt_get("--print-uris", "--reinstall", "-y", "install",
                            *names)
        wanted = re.findall(r"^'[^']*' (\S+\.deb) ", uris, re.M)
        archives = self.folder / "archives"
        # apt does not print packages that are there already.
        return [archives / name for name in wanted] or \
            sorted(archives.glob("*.deb"))

    def fetch_alone(self, name):
        """The path of this package, without its dependencies. For an empty
        package that depends on a versioned one, the path of the versioned
        package."""
        text = output(["apt-cache", *self.options(), "depends", "--important",
                       name])
        # For example, linux-image-amd64 depends on linux-image-6.12.1-amd64.
        kind = re.escape("-".join(name.split("-")[:2]))
        found = re.findall(rf"Depends: ({kind}\S+)", text)
        real = next(iter(found), name)
        self.apt_get("download", real, cwd=self.folder / "archives")
        return max((self.folder / "archives").glob(f"{real}_*.deb"),
                   key=lambda path: path.stat().st_mtime)


def extract(archive, tree, *names):
    """Unpacks into the tree, over the files that are there. With `names`,
    patterns of tar, only matching files."""
    options = ["--wildcards", *names] if names else []
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive],
                          stdout=subprocess.PIPE) as data:
        # A folder in the package may be a link in the tree.
        output(["tar", "-x", "-C", tree, "--keep-directory-symlink",
                "--no-same-owner", *options], stdin=data.stdout)


def unpack(archives, tree):
    """Makes the tree anew if it has other packages."""
    names = "\n".join(sorted(path.name for path in archives))
    stamp = tree / "packages"
    if stamp.exists() and stamp.read_text() == names:
        return
    shutil.rmtree(tree, ignore_errors=True)
    # The same links as in an installed system.
    for folder in ("bin", "lib", "lib64", "sbin"):
        (tree / "usr" / folder).mkdir(parents=True)
        (tree / folder).symlink_to(f"usr/{folder}")
    (tree / "tmp").mkdir()
    for path in archives:
        extract(path, tree)
    stamp.write_text(names)
