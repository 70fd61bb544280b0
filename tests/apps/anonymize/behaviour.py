#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""cudafilters-anonymize as a program: what it says, what it leaves behind when it fails, files of
detections it is given, and signals."""
import json
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile

import clips
import files

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "pipelines"))
sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "apps/anonymize"))
import harness

FRAMES = 20
BOX = "0,100,90,80,80"
HEADER = "frame,x,y,width,height"
SIDECAR = "{\"format\": \"cudafilters-anonymize\", \"version\": 1"
SIZED = (SIDECAR + ", \"detector\": {\"threshold\": %s}, \"input\": {\"width\": %s, "
         "\"height\": 9}, \"frames\": []}")


class Place:
    """A folder with a video, boxes for it, and broken things."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.video = self.folder / "in.mp4"
        clips.write(clips.pan(FRAMES), self.video, "-c:v", "libx264", "-crf", "14")
        self.boxes = self.write("boxes.csv", f"{HEADER}\n{BOX}\n")
        self.output = self.folder / "out.mp4"

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())

    def anonymize(self, *arguments, video=None, output=None, boxes=None, **options):
        return files.anonymize("--detections", boxes or self.boxes, *arguments,
                               video or self.video, output or self.output, **options)


def check_refusal(tap, place, title, wanted, process, status=2):
    """Says what is wrong in one line, and leaves nothing."""
    lines = [line for line in process.stderr.splitlines()
             if line.startswith("cudafilters-anonymize:")]
    left = [name for name in place.names() if name.startswith("out") or name.endswith(".part")]
    tap.check(process.returncode == status and len(lines) == 1 and wanted in lines[0] and
              not left and "Traceback" not in process.stderr, title,
              f"{process.returncode}, left {left}\n{process.stderr}")


def check_arguments(tap, place):
    for title, wanted, arguments in (
            ("no input", "there is no file", {"video": "nothing.mp4"}),
            ("an unknown container", "end in .mp4", {"output": place.folder / "out.avi"}),
            ("no folder", "is not a folder", {"output": "/nonexistent/out.mp4"}),
            ("the input itself", "the input itself", {"output": place.video}),
            ("a name that is not UTF-8", "no name in UTF-8",
             {"output": place.folder / "out\udcff.mp4"}),
            ("no detections", "cannot be read", {"boxes": "nothing.csv"})):
        check_refusal(tap, place, title, wanted, place.anonymize(**arguments))
    check_refusal(tap, place, "an unknown encoder", "no element \"nothing\"",
                  place.anonymize("--encoder", "nothing"), 1)
    check_refusal(tap, place, "a missing model", "there is no model", files.anonymize(
        "--model", "nothing.onnx", place.video, place.output))
    model = place.write("broken.onnx", "this is no model")
    check_refusal(tap, place, "a broken model", "cannot read the model", files.anonymize(
        "--model", model, place.video, place.output), 1)
    for option, value in (("--expand", "3"), ("--blocks-across", "0"), ("--fill-color", "red"),
                          ("--quality", "x"), ("--mask", "paint")):
        process = place.anonymize(option, value)
        check_refusal(tap, place, f"{option} {value}", value, process)
        tap.check(len(process.stderr.splitlines()) == 1, "... in one line", process.stderr)
    process = files.anonymize(place.video)
    tap.check(process.returncode == 2 and "OUT is missing" in process.stderr, "OUT is missing",
              process.stderr)


def check_detections(tap, place):
    for title, text, wanted in (
            ("no columns", "1,2,3\n4,5,6\n", "has no column x"),
            ("no number", f"{HEADER}\n0,a,90,80,80\n", "line 2 has no number for x, but 'a'"),
            ("no time", "x,y,width,height\n1,2,3,4\n", "neither time nor frame"),
            ("no size", f"{HEADER}\n0,1,2,0,4\n", "more than 0"),
            ("another video's frame", f"{HEADER}\n900,1,2,3,4\n", "frames 0 to 19"),
            ("milliseconds", "time,x,y,width,height\n400,1,2,3,4\n", "0.000 to 0.760 s"),
            ("broken JSON", "{\"frames\": [", "is not valid JSON"),
            ("deep JSON", "[" * 100000, "is not valid JSON"),
            ("other JSON", "{\"a\": 1}", "no list of detections"),
            ("a sidecar without its detector", f"{SIDECAR}, \"frames\": []}}", "detector"),
            ("a number for detections", "[{\"time\": 0, \"detections\": 3}]", "bad.csv"),
            ("numbers for detections", "[{\"time\": 0, \"detections\": [5]}]", "bad.csv"),
            ("a number of 400 digits", f"[{{\"time\": 0, \"x\": 1{'0' * 400}, \"y\": 1, "
             "\"width\": 1, \"height\": 1}]", "no number for x"),
            ("a field of 200,000 digits", f"{HEADER}\n0,{'9' * 200000},90,80,80\n", "larger than"),
            ("pictures without end", SIZED % ("0.5", "1e999"), "infinity"),
            ("a threshold that nothing reaches", SIZED % ("NaN", "9"), "allowed is 0 to 1"),
            ("far away", f"{HEADER}\n0,1,-2e9,9,9\n", "line 2 has -2e+09 for y")):
        boxes = place.write("bad.csv", text)
        check_refusal(tap, place, f"detections: {title}", wanted, place.anonymize(boxes=boxes))
    for title, text, wanted in (
            ("none at all", f"{HEADER}\n", "nothing is covered"),
            ("larger pictures", f"{HEADER}\n0,900,90,80,80\n", "1 of 1 detections lie outside")):
        process = files.anonymize("--detect-only", "--overwrite", "--sidecar",
                                  place.folder / "side.json", "--detections",
                                  place.write("odd.csv", text), place.video)
        tap.check(process.returncode == 0 and wanted in process.stderr,
                  f"detections of {title}: a warning", process.stderr)
    sidecar = json.loads((place.folder / "side.json").read_text())
    sidecar["input"]["width"] *= 2
    boxes = place.write("other.json", json.dumps(sidecar))
    check_refusal(tap, place, "a sidecar of pictures of another size", "is it of another video?",
                  place.anonymize(boxes=boxes))
    same = []
    for text in (f"{HEADER},confidence\n3,100,90,80,80,0.9\n",
                 "t,left,top,w,h,score\n0.121,100,90,80,80,0.9\n",
                 "[{\"time\": 0.12, \"x\": 100, \"y\": 90, \"w\": 80, \"h\": 80, "
                 "\"confidence\": 0.9}]",
                 "{\"frames\": [{\"frame\": 3, \"detections\": [{\"x\": 100, \"y\": 90, "
                 "\"width\": 80, \"height\": 80, \"score\": 0.9}]}]}"):
        boxes = place.write("good", text)
        side = place.folder / "side.json"
        process = files.anonymize("--quiet", "--overwrite", "--detect-only", "--sidecar", side,
                                  "--detections", boxes, place.video)
        same.append(json.loads(side.read_text())["frames"] if process.returncode == 0
                    else process.stderr)
    tap.check(all(frames == same[0] for frames in same) and len(same[0][3]["detections"]) == 1,
              "CSV and JSON, by frame and by time", "\n".join(map(str, same))[:2000])


def check_files(tap, place):
    place.output.write_text("mine")
    process = place.anonymize()
    tap.check(process.returncode == 2 and "--overwrite" in process.stderr and
              place.output.read_text() == "mine", "a file that exists stays", process.stderr)
    process = place.anonymize("--overwrite", "--json")
    told = files.result(process)
    tap.check(process.returncode == 0 and told and told["frames"] == FRAMES and
              len(files.times(place.output)) == FRAMES, "--overwrite replaces it",
              process.stdout + process.stderr)
    tap.check([name for name in place.names() if "out" in name] == ["out.mp4", "out.mp4.json"],
              "OUT and its sidecar, and nothing else", str(place.names()))
    for name in ("out.mp4", "out.mp4.json"):
        (place.folder / name).unlink()
    process = place.anonymize("--no-sidecar")
    tap.check(process.returncode == 0 and not (place.folder / "out.mp4.json").exists(),
              "--no-sidecar", process.stderr)
    place.output.unlink()


def check_broken(tap, place):
    junk = place.write("junk.mp4", "this is no video " * 100)
    check_refusal(tap, place, "no video at all", "junk.mp4", place.anonymize(video=junk), 1)
    index = place.folder / "headless.mp4"
    index.write_bytes(place.video.read_bytes()[:4000])
    check_refusal(tap, place, "no index", "headless.mp4", place.anonymize(video=index), 1)
    many = place.folder / "many.mkv"
    files.ffmpeg("-f", "lavfi", "-i", "sine=duration=0.1", *["-map", "0:a"] * 300, "-c:a",
                 "pcm_s16le", many)
    check_refusal(tap, place, "a file of 300 tracks", "more than 256 streams",
                  place.anonymize(video=many), 1)
    sound = place.folder / "sound.mkv"
    files.ffmpeg("-f", "lavfi", "-i", "sine=duration=1", "-c:a", "flac", sound)
    check_refusal(tap, place, "sound alone", "there is no video in it",
                  place.anonymize(video=sound), 1)
    cut = place.folder / "cut.mp4"
    files.ffmpeg("-i", place.video, "-c", "copy", "-movflags", "+faststart", cut)
    data = cut.read_bytes()
    cut.write_bytes(data[:len(data) * 2 // 3])
    process = place.anonymize(video=cut)
    tap.check(process.returncode in (0, 1) and "Traceback" not in process.stderr and
              (place.output.exists() == (process.returncode == 0)), "a file that ends too early",
              process.stderr)
    place.output.unlink(missing_ok=True)
    (place.folder / "out.mp4.json").unlink(missing_ok=True)
    files.ffmpeg("-stream_loop", "3", "-i", place.video, "-c", "copy", "-movflags", "+faststart",
                 place.folder / "longer.mp4")
    data = (place.folder / "longer.mp4").read_bytes()
    cut.write_bytes(data[:len(data) // 2])
    process = place.anonymize("--detect-only", video=cut)
    tap.check(process.returncode == 0 and "may be cut off" in process.stderr,
              "a file that ends much too early", process.stderr)
    (place.folder / "out.mp4.json").unlink(missing_ok=True)
    odd = place.folder / "odd.mkv"
    files.ffmpeg("-i", place.video, "-vf", "scale=161:91", "-c:v", "ffv1", odd)
    nothing = place.write("none.csv", f"{HEADER}\n")
    check_refusal(tap, place, "an odd size", "161x91",
                  place.anonymize(video=odd, boxes=nothing), 1)
    process = place.anonymize("--encoder", "videocrop right=1 bottom=1 ! x264enc ! h264parse",
                              "--no-sidecar", video=odd, boxes=nothing)
    tap.check(process.returncode == 0, "... made even", process.stderr)
    place.output.unlink(missing_ok=True)
    talk = place.folder / "talk.mkv"
    files.ffmpeg("-i", place.video, "-f", "lavfi", "-i", "sine=duration=0.8", "-c:v", "copy",
                 "-c:a", "flac", talk)
    check_refusal(tap, place, "sound that MP4 cannot hold", "name it .mkv",
                  place.anonymize(video=talk))


def check_full_disk(tap, place):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

    process = place.anonymize("--no-sidecar", preexec_fn=limit)
    check_refusal(tap, place, "a full disk", f"{place.output}.part: ", process, 1)


def check_company(tap, place):
    """Two programs write the same file."""
    words = [str(files.PROGRAM), "--detector", "haar", "--min-face", "0.02"]
    long = place.folder / "long.mkv"
    files.ffmpeg("-stream_loop", "99", "-i", place.video, "-c", "copy", long)
    with subprocess.Popen([*words, str(long), str(place.output)], stderr=subprocess.PIPE,
                          text=True) as first:
        first.stderr.readline()
        second = place.anonymize()
        tap.check(second.returncode == 1 and "written by another" in second.stderr and
                  place.output.with_name("out.mp4.part").exists(),
                  "a second program for the same file", second.stderr)
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=30)
    tap.check(not [name for name in place.names() if name.startswith("out")],
              "... and the first cleans up", str(place.names()))


def check_signals(tap, place):
    long = place.folder / "long.mkv"
    files.ffmpeg("-stream_loop", "99", "-i", place.video, "-c", "copy", long)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as a terminal has it, not nohup
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        process = subprocess.Popen([str(files.PROGRAM), "--detector", "haar", "--min-face", "0.02",
                                    str(long), str(place.output)], stderr=subprocess.PIPE,
                                   text=True)
        process.stderr.readline()
        process.send_signal(number)
        try:
            _, error = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            _, error = process.communicate()
        left = [name for name in place.names() if name.startswith("out")]
        tap.check(process.returncode == 130 and "interrupted" in error and not left,
                  f"{number.name}: nothing is left", f"{process.returncode}, {left}\n{error}")


def problem_of(action):
    from cudafilters_anonymize.errors import Problem

    try:
        action()
    except Problem as problem:
        return str(problem)
    return ""


def check_waits(tap, place):
    """Every wait has an end that says what was waited for."""
    from cudafilters_anonymize import containers, media

    told = problem_of(lambda: containers.check_memory(16384, 16384, 16 << 30))
    tap.check("about 81 GB" in told and "--encoder" in told and
              not problem_of(lambda: containers.check_memory(7680, 4320, 16 << 30)),
              "pictures that memory cannot hold are refused", told)

    def refuse(*_):
        raise ValueError("no such stream")

    file = media.File(str(place.video), refuse)
    file.put_video(media.make("fakesink"))
    file.start()
    told = problem_of(lambda: file.message(20 * media.Gst.SECOND))
    file.stop()
    tap.check("no such stream" in told, "what a callback raises ends the pass", told)

    stands = media.Standstill(file)
    stands.check("3 frames")
    stands.last -= 10 * stands.SECONDS
    tap.check(not problem_of(lambda: stands.check("3 frames")), "time spent stopped is none")
    stands.still = stands.SECONDS
    stands.last -= stands.MOST_AT_ONCE
    told = problem_of(lambda: stands.check("3 frames"))
    tap.check("3 frames" in told, "a standstill ends with what has been done", told)
    stands.check("4 frames")
    stands = media.Standstill(media.File(str(place.video), refuse))
    stands.check("0 frames")
    stands.still = stands.SECONDS_AT_START
    stands.last -= stands.MOST_AT_ONCE
    told = problem_of(lambda: stands.check("0 frames"))
    tap.check("no stream is found" in told, "... soon where there is no stream", told)


def check_check(tap, place):
    """A mask that hides nothing is found out."""
    haar = "--detector", "haar", "--min-face", "0.15", "--no-sidecar", "--check"
    process = place.anonymize(*haar, "--json")
    told = files.result(process)
    tap.check(process.returncode == 0 and told and told["seen_again"] == 0,
              "--check finds no face in a result", process.stdout + process.stderr)
    place.output.unlink(missing_ok=True)
    process = place.anonymize(*haar, "--mask", "mosaic", "--blocks-across", "80")
    check_refusal(tap, place, "--check refuses a mask that shows the face", "still finds a face",
                  process, 1)


def check_fill(tap, place):
    process = place.anonymize("--mask", "fill", "--fill-color", "00ff00", "--shape", "rectangle",
                              "--quality", "5")
    if "needs a cudablockavg with mode=fill" in process.stderr:
        tap.skip("fill", "cudablockavg has no mode=fill")
        return
    image = clips.read(place.output)[0][100:160, 110:170].astype(int)
    tap.check(process.returncode == 0 and abs(image - (0, 255, 0)).max() < 24, "fill is solid",
              process.stderr)


def run(tap):
    process = files.anonymize("--help")
    tap.check(process.returncode == 0 and "--fail-closed" in process.stdout, "--help")
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder)
        check_arguments(tap, place)
        check_detections(tap, place)
        check_files(tap, place)
        check_broken(tap, place)
        check_full_disk(tap, place)
        check_company(tap, place)
        check_signals(tap, place)
        check_waits(tap, place)
        check_check(tap, place)
        check_fill(tap, place)


if __name__ == "__main__":
    harness.main(run)
