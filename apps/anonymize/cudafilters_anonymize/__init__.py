# SPDX-License-Identifier: LGPL-2.1-or-later
"""cudafilters-anonymize: covers faces, or what a file of detections says, in a video file.

cli         the command line, and exit statuses
job         one run: which steps happen in which order
scan        the first pass: what is seen in every frame
pictures    decodes a file, and gives its pictures upright
detector    the detectors: haar, yunet, centerface, and files of detections (records)
follow      what a detector loses for a while is followed by optical flow, both ways in time
tracks      which detections in successive frames are one face
plan        what is covered in which frame, and which frames are unsure
mask        the element that covers, and its settings
filtering   the second pass: decodes, covers, encodes, and copies everything else
records     files of detections, and the sidecar
report      progress, results and warnings for people and for programs
"""
