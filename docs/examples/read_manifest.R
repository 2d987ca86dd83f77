# Estimate the prevalence of a randomised yes/no column from a released CSV file and its manifest, with nothing but R.
# Usage: Rscript read_manifest.R out.csv column
library(jsonlite)

arguments <- commandArgs(trailingOnly = TRUE)
path <- arguments[1]
column <- arguments[2]

manifest <- fromJSON(paste0(path, ".manifest.json"), simplifyVector = FALSE)
block <- Filter(function(one) column %in% unlist(one$columns), manifest$blocks)[[1]]
stopifnot(block$mechanism$kind == "binary")

# Integers are written as text, because they may be larger than a double holds; here their ratios are enough.
weights <- lapply(block$mechanism$rows, function(row) as.numeric(unlist(row)))
p00 <- weights[[1]][1] / sum(weights[[1]])
p11 <- weights[[2]][2] / sum(weights[[2]])

labels <- unlist(if (is.null(block$reports)) block$domain$values else block$reports$values)
reports <- read.csv(path, colClasses = "character", check.names = FALSE)[[column]]
yes <- mean(reports == labels[2])
estimate <- (p00 - 1 + yes) / (p00 + p11 - 1)
error <- sqrt(yes * (1 - yes) / length(reports)) / abs(p00 + p11 - 1)
cat(toJSON(list(n = length(reports), estimate = estimate, std_error = error), auto_unbox = TRUE, digits = NA), "\n")
