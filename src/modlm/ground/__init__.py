"""What everything stands on: arrays and threads, files written aside and renamed, progress, kernels put off."""
